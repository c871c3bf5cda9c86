"builtin.module"() ({
  "func.func"() <{function_type = (tensor<32x20xf32>, tensor<32xf32>, tensor<5x32xf32>, tensor<5xf32>, tensor<f32>, tensor<32x20xf32>, tensor<32x20xf32>, tensor<f32>, tensor<32xf32>, tensor<32xf32>, tensor<f32>, tensor<5x32xf32>, tensor<5x32xf32>, tensor<f32>, tensor<5xf32>, tensor<5xf32>, tensor<8x20xf32>, tensor<8xi64>) -> (tensor<32x20xf32>, tensor<32xf32>, tensor<5x32xf32>, tensor<5xf32>, tensor<f32>, tensor<32x20xf32>, tensor<32x20xf32>, tensor<f32>, tensor<32xf32>, tensor<32xf32>, tensor<f32>, tensor<5x32xf32>, tensor<5x32xf32>, tensor<f32>, tensor<5xf32>, tensor<5xf32>, tensor<f32>, tensor<32x20xf32>, tensor<32xf32>, tensor<5x32xf32>, tensor<5xf32>), sym_name = "main"}> ({
  ^bb0(%arg0: tensor<32x20xf32>, %arg1: tensor<32xf32>, %arg2: tensor<5x32xf32>, %arg3: tensor<5xf32>, %arg4: tensor<f32>, %arg5: tensor<32x20xf32>, %arg6: tensor<32x20xf32>, %arg7: tensor<f32>, %arg8: tensor<32xf32>, %arg9: tensor<32xf32>, %arg10: tensor<f32>, %arg11: tensor<5x32xf32>, %arg12: tensor<5x32xf32>, %arg13: tensor<f32>, %arg14: tensor<5xf32>, %arg15: tensor<5xf32>, %arg16: tensor<8x20xf32>, %arg17: tensor<8xi64>):
    %0 = "stablehlo.constant"() <{value = dense<0> : tensor<8x1xi64>}> : () -> tensor<8x1xi64>
    %1 = "stablehlo.constant"() <{value = dense<-100> : tensor<8x1xi64>}> : () -> tensor<8x1xi64>
    %2 = "stablehlo.constant"() <{value = dense<0> : tensor<8xi64>}> : () -> tensor<8xi64>
    %3 = "stablehlo.constant"() <{value = dense<-100> : tensor<8xi64>}> : () -> tensor<8xi64>
    %4 = "stablehlo.constant"() <{value = dense<-1.000000e+00> : tensor<8x1xf32>}> : () -> tensor<8x1xf32>
    %5 = "stablehlo.constant"() <{value = dense<0.000000e+00> : tensor<8x5xf32>}> : () -> tensor<8x5xf32>
    %6 = "stablehlo.constant"() <{value = dense<0.000000e+00> : tensor<f32>}> : () -> tensor<f32>
    %7 = "stablehlo.constant"() <{value = dense<0> : tensor<i64>}> : () -> tensor<i64>
    %8 = "stablehlo.constant"() <{value = dense<1.000000e+00> : tensor<f32>}> : () -> tensor<f32>
    %9 = "stablehlo.constant"() <{value = dense<1> : tensor<i64>}> : () -> tensor<i64>
    %10 = "stablehlo.constant"() <{value = dense<0.000000e+00> : tensor<8x32xf32>}> : () -> tensor<8x32xf32>
    %11 = "stablehlo.constant"() <{value = dense<0xFF800000> : tensor<f32>}> : () -> tensor<f32>
    %12 = "arith.constant"() <{value = dense<1> : tensor<1xi64>}> : () -> tensor<1xi64>
    %13 = "arith.constant"() <{value = dense<9.000000e-01> : tensor<1xf64>}> : () -> tensor<1xf64>
    %14 = "arith.constant"() <{value = dense<0.099999999999999978> : tensor<1xf64>}> : () -> tensor<1xf64>
    %15 = "arith.constant"() <{value = dense<0.99899999999999999> : tensor<1xf64>}> : () -> tensor<1xf64>
    %16 = "arith.constant"() <{value = dense<0.0010000000000000009> : tensor<1xf64>}> : () -> tensor<1xf64>
    %17 = "arith.constant"() <{value = dense<9.9999999999999995E-7> : tensor<1xf64>}> : () -> tensor<1xf64>
    %18 = "arith.constant"() <{value = dense<1.000000e-02> : tensor<1xf64>}> : () -> tensor<1xf64>
    %19 = "arith.constant"() <{value = dense<2> : tensor<1xi64>}> : () -> tensor<1xi64>
    %20 = "arith.constant"() <{value = dense<-1.000000e-02> : tensor<1xf64>}> : () -> tensor<1xf64>
    %21 = "stablehlo.transpose"(%arg0) <{permutation = array<i64: 1, 0>}> : (tensor<32x20xf32>) -> tensor<20x32xf32>
    %22 = "stablehlo.dot_general"(%arg16, %21) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]>}> : (tensor<8x20xf32>, tensor<20x32xf32>) -> tensor<8x32xf32>
    %23 = "stablehlo.convert"(%12) : (tensor<1xi64>) -> tensor<1xf32>
    %24 = "stablehlo.reshape"(%23) : (tensor<1xf32>) -> tensor<f32>
    %25 = "stablehlo.broadcast_in_dim"(%24) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<8x32xf32>
    %26 = "stablehlo.multiply"(%22, %25) : (tensor<8x32xf32>, tensor<8x32xf32>) -> tensor<8x32xf32>
    %27 = "stablehlo.broadcast_in_dim"(%arg1) <{broadcast_dimensions = array<i64: 1>}> : (tensor<32xf32>) -> tensor<8x32xf32>
    %28 = "stablehlo.multiply"(%27, %25) : (tensor<8x32xf32>, tensor<8x32xf32>) -> tensor<8x32xf32>
    %29 = "stablehlo.add"(%26, %28) : (tensor<8x32xf32>, tensor<8x32xf32>) -> tensor<8x32xf32>
    %30 = "stablehlo.maximum"(%29, %10) : (tensor<8x32xf32>, tensor<8x32xf32>) -> tensor<8x32xf32>
    %31 = "stablehlo.transpose"(%arg2) <{permutation = array<i64: 1, 0>}> : (tensor<5x32xf32>) -> tensor<32x5xf32>
    %32 = "stablehlo.dot_general"(%30, %31) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]>}> : (tensor<8x32xf32>, tensor<32x5xf32>) -> tensor<8x5xf32>
    %33 = "stablehlo.broadcast_in_dim"(%24) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<8x5xf32>
    %34 = "stablehlo.multiply"(%32, %33) : (tensor<8x5xf32>, tensor<8x5xf32>) -> tensor<8x5xf32>
    %35 = "stablehlo.broadcast_in_dim"(%arg3) <{broadcast_dimensions = array<i64: 1>}> : (tensor<5xf32>) -> tensor<8x5xf32>
    %36 = "stablehlo.multiply"(%35, %33) : (tensor<8x5xf32>, tensor<8x5xf32>) -> tensor<8x5xf32>
    %37 = "stablehlo.add"(%34, %36) : (tensor<8x5xf32>, tensor<8x5xf32>) -> tensor<8x5xf32>
    %38 = "stablehlo.reduce"(%37, %11) <{dimensions = array<i64: 1>}> ({
    ^bb0(%arg48: tensor<f32>, %arg49: tensor<f32>):
      %332 = "stablehlo.maximum"(%arg48, %arg49) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%332) : (tensor<f32>) -> ()
    }) : (tensor<8x5xf32>, tensor<f32>) -> tensor<8xf32>
    %39 = "stablehlo.reshape"(%38) : (tensor<8xf32>) -> tensor<8x1xf32>
    %40 = "stablehlo.broadcast_in_dim"(%39) <{broadcast_dimensions = array<i64: 0, 1>}> : (tensor<8x1xf32>) -> tensor<8x5xf32>
    %41 = "stablehlo.subtract"(%37, %40) : (tensor<8x5xf32>, tensor<8x5xf32>) -> tensor<8x5xf32>
    %42 = "stablehlo.exponential"(%41) : (tensor<8x5xf32>) -> tensor<8x5xf32>
    %43 = "stablehlo.reduce"(%42, %6) <{dimensions = array<i64: 1>}> ({
    ^bb0(%arg46: tensor<f32>, %arg47: tensor<f32>):
      %331 = "stablehlo.add"(%arg46, %arg47) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%331) : (tensor<f32>) -> ()
    }) : (tensor<8x5xf32>, tensor<f32>) -> tensor<8xf32>
    %44 = "stablehlo.reshape"(%43) : (tensor<8xf32>) -> tensor<8x1xf32>
    %45 = "stablehlo.log"(%44) : (tensor<8x1xf32>) -> tensor<8x1xf32>
    %46 = "stablehlo.broadcast_in_dim"(%45) <{broadcast_dimensions = array<i64: 0, 1>}> : (tensor<8x1xf32>) -> tensor<8x5xf32>
    %47 = "stablehlo.subtract"(%41, %46) : (tensor<8x5xf32>, tensor<8x5xf32>) -> tensor<8x5xf32>
    %48 = "stablehlo.compare"(%arg17, %3) <{compare_type = #stablehlo<comparison_type SIGNED>, comparison_direction = #stablehlo<comparison_direction NE>}> : (tensor<8xi64>, tensor<8xi64>) -> tensor<8xi1>
    %49 = "stablehlo.broadcast_in_dim"(%48) <{broadcast_dimensions = array<i64: 0>}> : (tensor<8xi1>) -> tensor<8xi1>
    %50 = "stablehlo.broadcast_in_dim"(%arg17) <{broadcast_dimensions = array<i64: 0>}> : (tensor<8xi64>) -> tensor<8xi64>
    %51 = "stablehlo.select"(%49, %50, %2) : (tensor<8xi1>, tensor<8xi64>, tensor<8xi64>) -> tensor<8xi64>
    %52 = "stablehlo.reshape"(%51) : (tensor<8xi64>) -> tensor<8x1xi64>
    %53 = "stablehlo.iota"() <{iota_dimension = 0 : i64}> : () -> tensor<8x1x1xi64>
    %54 = "stablehlo.reshape"(%52) : (tensor<8x1xi64>) -> tensor<8x1x1xi64>
    %55 = "stablehlo.concatenate"(%53, %54) <{dimension = 2 : i64}> : (tensor<8x1x1xi64>, tensor<8x1x1xi64>) -> tensor<8x1x2xi64>
    %56 = "stablehlo.gather"(%47, %55) <{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [0, 1], start_index_map = [0, 1], index_vector_dim = 2>, slice_sizes = array<i64: 1, 1>}> : (tensor<8x5xf32>, tensor<8x1x2xi64>) -> tensor<8x1xf32>
    %57 = "stablehlo.reshape"(%56) : (tensor<8x1xf32>) -> tensor<8xf32>
    %58 = "stablehlo.negate"(%57) : (tensor<8xf32>) -> tensor<8xf32>
    %59 = "stablehlo.broadcast_in_dim"(%58) <{broadcast_dimensions = array<i64: 0>}> : (tensor<8xf32>) -> tensor<8xf32>
    %60 = "stablehlo.broadcast_in_dim"(%6) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<8xf32>
    %61 = "stablehlo.select"(%49, %59, %60) : (tensor<8xi1>, tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
    %62 = "stablehlo.convert"(%48) : (tensor<8xi1>) -> tensor<8xi64>
    %63 = "stablehlo.reduce"(%62, %7) <{dimensions = array<i64: 0>}> ({
    ^bb0(%arg44: tensor<i64>, %arg45: tensor<i64>):
      %330 = "stablehlo.add"(%arg44, %arg45) : (tensor<i64>, tensor<i64>) -> tensor<i64>
      "stablehlo.return"(%330) : (tensor<i64>) -> ()
    }) : (tensor<8xi64>, tensor<i64>) -> tensor<i64>
    %64 = "stablehlo.convert"(%63) : (tensor<i64>) -> tensor<f32>
    %65 = "stablehlo.reduce"(%61, %6) <{dimensions = array<i64: 0>}> ({
    ^bb0(%arg42: tensor<f32>, %arg43: tensor<f32>):
      %329 = "stablehlo.add"(%arg42, %arg43) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%329) : (tensor<f32>) -> ()
    }) : (tensor<8xf32>, tensor<f32>) -> tensor<f32>
    %66 = "stablehlo.divide"(%65, %64) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    %67 = "stablehlo.divide"(%8, %64) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    %68 = "stablehlo.reshape"(%arg17) : (tensor<8xi64>) -> tensor<8x1xi64>
    %69 = "stablehlo.compare"(%68, %1) <{compare_type = #stablehlo<comparison_type SIGNED>, comparison_direction = #stablehlo<comparison_direction NE>}> : (tensor<8x1xi64>, tensor<8x1xi64>) -> tensor<8x1xi1>
    %70 = "stablehlo.broadcast_in_dim"(%69) <{broadcast_dimensions = array<i64: 0, 1>}> : (tensor<8x1xi1>) -> tensor<8x1xi1>
    %71 = "stablehlo.broadcast_in_dim"(%68) <{broadcast_dimensions = array<i64: 0, 1>}> : (tensor<8x1xi64>) -> tensor<8x1xi64>
    %72 = "stablehlo.select"(%70, %71, %0) : (tensor<8x1xi1>, tensor<8x1xi64>, tensor<8x1xi64>) -> tensor<8x1xi64>
    %73 = "stablehlo.slice"(%4) <{limit_indices = array<i64: 8, 1>, start_indices = array<i64: 0, 0>, strides = array<i64: 1, 1>}> : (tensor<8x1xf32>) -> tensor<8x1xf32>
    %74 = "stablehlo.reshape"(%72) : (tensor<8x1xi64>) -> tensor<8x1x1xi64>
    %75 = "stablehlo.concatenate"(%53, %74) <{dimension = 2 : i64}> : (tensor<8x1x1xi64>, tensor<8x1x1xi64>) -> tensor<8x1x2xi64>
    %76 = "stablehlo.scatter"(%5, %75, %73) <{indices_are_sorted = false, scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0, 1], scatter_dims_to_operand_dims = [0, 1], index_vector_dim = 2>, unique_indices = false}> ({
    ^bb0(%arg40: tensor<f32>, %arg41: tensor<f32>):
      "stablehlo.return"(%arg41) : (tensor<f32>) -> ()
    }) : (tensor<8x5xf32>, tensor<8x1x2xi64>, tensor<8x1xf32>) -> tensor<8x5xf32>
    %77 = "stablehlo.broadcast_in_dim"(%67) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<8x1xf32>
    %78 = "stablehlo.broadcast_in_dim"(%6) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<8x1xf32>
    %79 = "stablehlo.select"(%70, %77, %78) : (tensor<8x1xi1>, tensor<8x1xf32>, tensor<8x1xf32>) -> tensor<8x1xf32>
    %80 = "stablehlo.broadcast_in_dim"(%79) <{broadcast_dimensions = array<i64: 0, 1>}> : (tensor<8x1xf32>) -> tensor<8x5xf32>
    %81 = "stablehlo.multiply"(%76, %80) : (tensor<8x5xf32>, tensor<8x5xf32>) -> tensor<8x5xf32>
    %82 = "stablehlo.exponential"(%47) : (tensor<8x5xf32>) -> tensor<8x5xf32>
    %83 = "stablehlo.reduce"(%81, %6) <{dimensions = array<i64: 1>}> ({
    ^bb0(%arg38: tensor<f32>, %arg39: tensor<f32>):
      %328 = "stablehlo.add"(%arg38, %arg39) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%328) : (tensor<f32>) -> ()
    }) : (tensor<8x5xf32>, tensor<f32>) -> tensor<8xf32>
    %84 = "stablehlo.reshape"(%83) : (tensor<8xf32>) -> tensor<8x1xf32>
    %85 = "stablehlo.broadcast_in_dim"(%84) <{broadcast_dimensions = array<i64: 0, 1>}> : (tensor<8x1xf32>) -> tensor<8x5xf32>
    %86 = "stablehlo.multiply"(%82, %85) : (tensor<8x5xf32>, tensor<8x5xf32>) -> tensor<8x5xf32>
    %87 = "stablehlo.subtract"(%81, %86) : (tensor<8x5xf32>, tensor<8x5xf32>) -> tensor<8x5xf32>
    %88 = "stablehlo.transpose"(%31) <{permutation = array<i64: 1, 0>}> : (tensor<32x5xf32>) -> tensor<5x32xf32>
    %89 = "stablehlo.dot_general"(%87, %88) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]>}> : (tensor<8x5xf32>, tensor<5x32xf32>) -> tensor<8x32xf32>
    %90 = "stablehlo.transpose"(%87) <{permutation = array<i64: 1, 0>}> : (tensor<8x5xf32>) -> tensor<5x8xf32>
    %91 = "stablehlo.dot_general"(%90, %30) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]>}> : (tensor<5x8xf32>, tensor<8x32xf32>) -> tensor<5x32xf32>
    %92 = "stablehlo.transpose"(%91) <{permutation = array<i64: 1, 0>}> : (tensor<5x32xf32>) -> tensor<32x5xf32>
    %93 = "stablehlo.reduce"(%87, %6) <{dimensions = array<i64: 0>}> ({
    ^bb0(%arg36: tensor<f32>, %arg37: tensor<f32>):
      %327 = "stablehlo.add"(%arg36, %arg37) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%327) : (tensor<f32>) -> ()
    }) : (tensor<8x5xf32>, tensor<f32>) -> tensor<5xf32>
    %94 = "stablehlo.reshape"(%93) : (tensor<5xf32>) -> tensor<1x5xf32>
    %95 = "stablehlo.reshape"(%94) : (tensor<1x5xf32>) -> tensor<5xf32>
    %96 = "stablehlo.transpose"(%92) <{permutation = array<i64: 1, 0>}> : (tensor<32x5xf32>) -> tensor<5x32xf32>
    %97 = "stablehlo.convert"(%7) : (tensor<i64>) -> tensor<f32>
    %98 = "stablehlo.broadcast_in_dim"(%97) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<8x32xf32>
    %99 = "stablehlo.compare"(%30, %98) <{compare_type = #stablehlo<comparison_type FLOAT>, comparison_direction = #stablehlo<comparison_direction LE>}> : (tensor<8x32xf32>, tensor<8x32xf32>) -> tensor<8x32xi1>
    %100 = "stablehlo.broadcast_in_dim"(%99) <{broadcast_dimensions = array<i64: 0, 1>}> : (tensor<8x32xi1>) -> tensor<8x32xi1>
    %101 = "stablehlo.broadcast_in_dim"(%6) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<8x32xf32>
    %102 = "stablehlo.broadcast_in_dim"(%89) <{broadcast_dimensions = array<i64: 0, 1>}> : (tensor<8x32xf32>) -> tensor<8x32xf32>
    %103 = "stablehlo.select"(%100, %101, %102) : (tensor<8x32xi1>, tensor<8x32xf32>, tensor<8x32xf32>) -> tensor<8x32xf32>
    %104 = "stablehlo.transpose"(%103) <{permutation = array<i64: 1, 0>}> : (tensor<8x32xf32>) -> tensor<32x8xf32>
    %105 = "stablehlo.dot_general"(%104, %arg16) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]>}> : (tensor<32x8xf32>, tensor<8x20xf32>) -> tensor<32x20xf32>
    %106 = "stablehlo.transpose"(%105) <{permutation = array<i64: 1, 0>}> : (tensor<32x20xf32>) -> tensor<20x32xf32>
    %107 = "stablehlo.reduce"(%103, %6) <{dimensions = array<i64: 0>}> ({
    ^bb0(%arg34: tensor<f32>, %arg35: tensor<f32>):
      %326 = "stablehlo.add"(%arg34, %arg35) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%326) : (tensor<f32>) -> ()
    }) : (tensor<8x32xf32>, tensor<f32>) -> tensor<32xf32>
    %108 = "stablehlo.reshape"(%107) : (tensor<32xf32>) -> tensor<1x32xf32>
    %109 = "stablehlo.reshape"(%108) : (tensor<1x32xf32>) -> tensor<32xf32>
    %110 = "stablehlo.transpose"(%106) <{permutation = array<i64: 1, 0>}> : (tensor<20x32xf32>) -> tensor<32x20xf32>
    %111 = "stablehlo.add"(%arg4, %24) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    %112 = "stablehlo.convert"(%13) : (tensor<1xf64>) -> tensor<1xf32>
    %113 = "stablehlo.reshape"(%112) : (tensor<1xf32>) -> tensor<f32>
    %114 = "stablehlo.broadcast_in_dim"(%113) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<32x20xf32>
    %115 = "stablehlo.multiply"(%arg5, %114) : (tensor<32x20xf32>, tensor<32x20xf32>) -> tensor<32x20xf32>
    %116 = "stablehlo.convert"(%14) : (tensor<1xf64>) -> tensor<1xf32>
    %117 = "stablehlo.reshape"(%116) : (tensor<1xf32>) -> tensor<f32>
    %118 = "stablehlo.broadcast_in_dim"(%117) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<32x20xf32>
    %119 = "stablehlo.multiply"(%110, %118) : (tensor<32x20xf32>, tensor<32x20xf32>) -> tensor<32x20xf32>
    %120 = "stablehlo.add"(%115, %119) : (tensor<32x20xf32>, tensor<32x20xf32>) -> tensor<32x20xf32>
    %121 = "stablehlo.convert"(%15) : (tensor<1xf64>) -> tensor<1xf32>
    %122 = "stablehlo.reshape"(%121) : (tensor<1xf32>) -> tensor<f32>
    %123 = "stablehlo.broadcast_in_dim"(%122) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<32x20xf32>
    %124 = "stablehlo.multiply"(%arg6, %123) : (tensor<32x20xf32>, tensor<32x20xf32>) -> tensor<32x20xf32>
    %125 = "stablehlo.convert"(%16) : (tensor<1xf64>) -> tensor<1xf32>
    %126 = "stablehlo.reshape"(%125) : (tensor<1xf32>) -> tensor<f32>
    %127 = "stablehlo.broadcast_in_dim"(%126) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<32x20xf32>
    %128 = "stablehlo.multiply"(%110, %127) : (tensor<32x20xf32>, tensor<32x20xf32>) -> tensor<32x20xf32>
    %129 = "stablehlo.multiply"(%128, %110) : (tensor<32x20xf32>, tensor<32x20xf32>) -> tensor<32x20xf32>
    %130 = "stablehlo.add"(%124, %129) : (tensor<32x20xf32>, tensor<32x20xf32>) -> tensor<32x20xf32>
    %131 = "stablehlo.power"(%113, %111) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    %132 = "stablehlo.convert"(%9) : (tensor<i64>) -> tensor<f32>
    %133 = "stablehlo.subtract"(%132, %131) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    %134 = "stablehlo.broadcast_in_dim"(%133) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<32x20xf32>
    %135 = "stablehlo.divide"(%120, %134) : (tensor<32x20xf32>, tensor<32x20xf32>) -> tensor<32x20xf32>
    %136 = "stablehlo.power"(%122, %111) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    %137 = "stablehlo.subtract"(%132, %136) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    %138 = "stablehlo.broadcast_in_dim"(%137) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<32x20xf32>
    %139 = "stablehlo.divide"(%130, %138) : (tensor<32x20xf32>, tensor<32x20xf32>) -> tensor<32x20xf32>
    %140 = "stablehlo.sqrt"(%139) : (tensor<32x20xf32>) -> tensor<32x20xf32>
    %141 = "stablehlo.convert"(%17) : (tensor<1xf64>) -> tensor<1xf32>
    %142 = "stablehlo.reshape"(%141) : (tensor<1xf32>) -> tensor<f32>
    %143 = "stablehlo.broadcast_in_dim"(%142) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<32x20xf32>
    %144 = "stablehlo.add"(%140, %143) : (tensor<32x20xf32>, tensor<32x20xf32>) -> tensor<32x20xf32>
    %145 = "stablehlo.divide"(%135, %144) : (tensor<32x20xf32>, tensor<32x20xf32>) -> tensor<32x20xf32>
    %146 = "stablehlo.convert"(%18) : (tensor<1xf64>) -> tensor<1xf32>
    %147 = "stablehlo.reshape"(%146) : (tensor<1xf32>) -> tensor<f32>
    %148 = "stablehlo.broadcast_in_dim"(%147) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<32x20xf32>
    %149 = "stablehlo.multiply"(%arg0, %148) : (tensor<32x20xf32>, tensor<32x20xf32>) -> tensor<32x20xf32>
    %150 = "stablehlo.add"(%145, %149) : (tensor<32x20xf32>, tensor<32x20xf32>) -> tensor<32x20xf32>
    %151 = "stablehlo.convert"(%19) : (tensor<1xi64>) -> tensor<1xf32>
    %152 = "stablehlo.reshape"(%151) : (tensor<1xf32>) -> tensor<f32>
    %153 = "stablehlo.abs"(%arg0) : (tensor<32x20xf32>) -> tensor<32x20xf32>
    %154 = "stablehlo.broadcast_in_dim"(%152) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<32x20xf32>
    %155 = "stablehlo.power"(%153, %154) : (tensor<32x20xf32>, tensor<32x20xf32>) -> tensor<32x20xf32>
    %156 = "stablehlo.reduce"(%155, %6) <{dimensions = array<i64: 0, 1>}> ({
    ^bb0(%arg32: tensor<f32>, %arg33: tensor<f32>):
      %325 = "stablehlo.add"(%arg32, %arg33) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%325) : (tensor<f32>) -> ()
    }) : (tensor<32x20xf32>, tensor<f32>) -> tensor<f32>
    %157 = "stablehlo.divide"(%8, %152) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    %158 = "stablehlo.power"(%156, %157) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    %159 = "stablehlo.abs"(%150) : (tensor<32x20xf32>) -> tensor<32x20xf32>
    %160 = "stablehlo.power"(%159, %154) : (tensor<32x20xf32>, tensor<32x20xf32>) -> tensor<32x20xf32>
    %161 = "stablehlo.reduce"(%160, %6) <{dimensions = array<i64: 0, 1>}> ({
    ^bb0(%arg30: tensor<f32>, %arg31: tensor<f32>):
      %324 = "stablehlo.add"(%arg30, %arg31) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%324) : (tensor<f32>) -> ()
    }) : (tensor<32x20xf32>, tensor<f32>) -> tensor<f32>
    %162 = "stablehlo.power"(%161, %157) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    %163 = "stablehlo.compare"(%158, %97) <{compare_type = #stablehlo<comparison_type FLOAT>, comparison_direction = #stablehlo<comparison_direction GT>}> : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %164 = "stablehlo.compare"(%162, %97) <{compare_type = #stablehlo<comparison_type FLOAT>, comparison_direction = #stablehlo<comparison_direction GT>}> : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %165 = "stablehlo.and"(%163, %164) : (tensor<i1>, tensor<i1>) -> tensor<i1>
    %166 = "stablehlo.divide"(%158, %162) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    %167 = "stablehlo.broadcast_in_dim"(%166) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<f32>
    %168 = "stablehlo.broadcast_in_dim"(%8) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<f32>
    %169 = "stablehlo.select"(%165, %167, %168) : (tensor<i1>, tensor<f32>, tensor<f32>) -> tensor<f32>
    %170 = "stablehlo.broadcast_in_dim"(%169) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<32x20xf32>
    %171 = "stablehlo.multiply"(%150, %170) : (tensor<32x20xf32>, tensor<32x20xf32>) -> tensor<32x20xf32>
    %172 = "stablehlo.convert"(%20) : (tensor<1xf64>) -> tensor<1xf32>
    %173 = "stablehlo.reshape"(%172) : (tensor<1xf32>) -> tensor<f32>
    %174 = "stablehlo.broadcast_in_dim"(%173) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<32x20xf32>
    %175 = "stablehlo.multiply"(%171, %174) : (tensor<32x20xf32>, tensor<32x20xf32>) -> tensor<32x20xf32>
    %176 = "stablehlo.add"(%arg0, %175) : (tensor<32x20xf32>, tensor<32x20xf32>) -> tensor<32x20xf32>
    %177 = "stablehlo.add"(%arg7, %24) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    %178 = "stablehlo.broadcast_in_dim"(%113) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<32xf32>
    %179 = "stablehlo.multiply"(%arg8, %178) : (tensor<32xf32>, tensor<32xf32>) -> tensor<32xf32>
    %180 = "stablehlo.broadcast_in_dim"(%117) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<32xf32>
    %181 = "stablehlo.multiply"(%109, %180) : (tensor<32xf32>, tensor<32xf32>) -> tensor<32xf32>
    %182 = "stablehlo.add"(%179, %181) : (tensor<32xf32>, tensor<32xf32>) -> tensor<32xf32>
    %183 = "stablehlo.broadcast_in_dim"(%122) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<32xf32>
    %184 = "stablehlo.multiply"(%arg9, %183) : (tensor<32xf32>, tensor<32xf32>) -> tensor<32xf32>
    %185 = "stablehlo.broadcast_in_dim"(%126) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<32xf32>
    %186 = "stablehlo.multiply"(%109, %185) : (tensor<32xf32>, tensor<32xf32>) -> tensor<32xf32>
    %187 = "stablehlo.multiply"(%186, %109) : (tensor<32xf32>, tensor<32xf32>) -> tensor<32xf32>
    %188 = "stablehlo.add"(%184, %187) : (tensor<32xf32>, tensor<32xf32>) -> tensor<32xf32>
    %189 = "stablehlo.power"(%113, %177) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    %190 = "stablehlo.subtract"(%132, %189) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    %191 = "stablehlo.broadcast_in_dim"(%190) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<32xf32>
    %192 = "stablehlo.divide"(%182, %191) : (tensor<32xf32>, tensor<32xf32>) -> tensor<32xf32>
    %193 = "stablehlo.power"(%122, %177) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    %194 = "stablehlo.subtract"(%132, %193) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    %195 = "stablehlo.broadcast_in_dim"(%194) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<32xf32>
    %196 = "stablehlo.divide"(%188, %195) : (tensor<32xf32>, tensor<32xf32>) -> tensor<32xf32>
    %197 = "stablehlo.sqrt"(%196) : (tensor<32xf32>) -> tensor<32xf32>
    %198 = "stablehlo.broadcast_in_dim"(%142) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<32xf32>
    %199 = "stablehlo.add"(%197, %198) : (tensor<32xf32>, tensor<32xf32>) -> tensor<32xf32>
    %200 = "stablehlo.divide"(%192, %199) : (tensor<32xf32>, tensor<32xf32>) -> tensor<32xf32>
    %201 = "stablehlo.broadcast_in_dim"(%147) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<32xf32>
    %202 = "stablehlo.multiply"(%arg1, %201) : (tensor<32xf32>, tensor<32xf32>) -> tensor<32xf32>
    %203 = "stablehlo.add"(%200, %202) : (tensor<32xf32>, tensor<32xf32>) -> tensor<32xf32>
    %204 = "stablehlo.abs"(%arg1) : (tensor<32xf32>) -> tensor<32xf32>
    %205 = "stablehlo.broadcast_in_dim"(%152) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<32xf32>
    %206 = "stablehlo.power"(%204, %205) : (tensor<32xf32>, tensor<32xf32>) -> tensor<32xf32>
    %207 = "stablehlo.reduce"(%206, %6) <{dimensions = array<i64: 0>}> ({
    ^bb0(%arg28: tensor<f32>, %arg29: tensor<f32>):
      %323 = "stablehlo.add"(%arg28, %arg29) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%323) : (tensor<f32>) -> ()
    }) : (tensor<32xf32>, tensor<f32>) -> tensor<f32>
    %208 = "stablehlo.power"(%207, %157) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    %209 = "stablehlo.abs"(%203) : (tensor<32xf32>) -> tensor<32xf32>
    %210 = "stablehlo.power"(%209, %205) : (tensor<32xf32>, tensor<32xf32>) -> tensor<32xf32>
    %211 = "stablehlo.reduce"(%210, %6) <{dimensions = array<i64: 0>}> ({
    ^bb0(%arg26: tensor<f32>, %arg27: tensor<f32>):
      %322 = "stablehlo.add"(%arg26, %arg27) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%322) : (tensor<f32>) -> ()
    }) : (tensor<32xf32>, tensor<f32>) -> tensor<f32>
    %212 = "stablehlo.power"(%211, %157) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    %213 = "stablehlo.compare"(%208, %97) <{compare_type = #stablehlo<comparison_type FLOAT>, comparison_direction = #stablehlo<comparison_direction GT>}> : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %214 = "stablehlo.compare"(%212, %97) <{compare_type = #stablehlo<comparison_type FLOAT>, comparison_direction = #stablehlo<comparison_direction GT>}> : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %215 = "stablehlo.and"(%213, %214) : (tensor<i1>, tensor<i1>) -> tensor<i1>
    %216 = "stablehlo.divide"(%208, %212) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    %217 = "stablehlo.broadcast_in_dim"(%216) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<f32>
    %218 = "stablehlo.select"(%215, %217, %168) : (tensor<i1>, tensor<f32>, tensor<f32>) -> tensor<f32>
    %219 = "stablehlo.broadcast_in_dim"(%218) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<32xf32>
    %220 = "stablehlo.multiply"(%203, %219) : (tensor<32xf32>, tensor<32xf32>) -> tensor<32xf32>
    %221 = "stablehlo.broadcast_in_dim"(%173) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<32xf32>
    %222 = "stablehlo.multiply"(%220, %221) : (tensor<32xf32>, tensor<32xf32>) -> tensor<32xf32>
    %223 = "stablehlo.add"(%arg1, %222) : (tensor<32xf32>, tensor<32xf32>) -> tensor<32xf32>
    %224 = "stablehlo.add"(%arg10, %24) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    %225 = "stablehlo.broadcast_in_dim"(%113) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<5x32xf32>
    %226 = "stablehlo.multiply"(%arg11, %225) : (tensor<5x32xf32>, tensor<5x32xf32>) -> tensor<5x32xf32>
    %227 = "stablehlo.broadcast_in_dim"(%117) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<5x32xf32>
    %228 = "stablehlo.multiply"(%96, %227) : (tensor<5x32xf32>, tensor<5x32xf32>) -> tensor<5x32xf32>
    %229 = "stablehlo.add"(%226, %228) : (tensor<5x32xf32>, tensor<5x32xf32>) -> tensor<5x32xf32>
    %230 = "stablehlo.broadcast_in_dim"(%122) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<5x32xf32>
    %231 = "stablehlo.multiply"(%arg12, %230) : (tensor<5x32xf32>, tensor<5x32xf32>) -> tensor<5x32xf32>
    %232 = "stablehlo.broadcast_in_dim"(%126) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<5x32xf32>
    %233 = "stablehlo.multiply"(%96, %232) : (tensor<5x32xf32>, tensor<5x32xf32>) -> tensor<5x32xf32>
    %234 = "stablehlo.multiply"(%233, %96) : (tensor<5x32xf32>, tensor<5x32xf32>) -> tensor<5x32xf32>
    %235 = "stablehlo.add"(%231, %234) : (tensor<5x32xf32>, tensor<5x32xf32>) -> tensor<5x32xf32>
    %236 = "stablehlo.power"(%113, %224) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    %237 = "stablehlo.subtract"(%132, %236) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    %238 = "stablehlo.broadcast_in_dim"(%237) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<5x32xf32>
    %239 = "stablehlo.divide"(%229, %238) : (tensor<5x32xf32>, tensor<5x32xf32>) -> tensor<5x32xf32>
    %240 = "stablehlo.power"(%122, %224) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    %241 = "stablehlo.subtract"(%132, %240) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    %242 = "stablehlo.broadcast_in_dim"(%241) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<5x32xf32>
    %243 = "stablehlo.divide"(%235, %242) : (tensor<5x32xf32>, tensor<5x32xf32>) -> tensor<5x32xf32>
    %244 = "stablehlo.sqrt"(%243) : (tensor<5x32xf32>) -> tensor<5x32xf32>
    %245 = "stablehlo.broadcast_in_dim"(%142) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<5x32xf32>
    %246 = "stablehlo.add"(%244, %245) : (tensor<5x32xf32>, tensor<5x32xf32>) -> tensor<5x32xf32>
    %247 = "stablehlo.divide"(%239, %246) : (tensor<5x32xf32>, tensor<5x32xf32>) -> tensor<5x32xf32>
    %248 = "stablehlo.broadcast_in_dim"(%147) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<5x32xf32>
    %249 = "stablehlo.multiply"(%arg2, %248) : (tensor<5x32xf32>, tensor<5x32xf32>) -> tensor<5x32xf32>
    %250 = "stablehlo.add"(%247, %249) : (tensor<5x32xf32>, tensor<5x32xf32>) -> tensor<5x32xf32>
    %251 = "stablehlo.abs"(%arg2) : (tensor<5x32xf32>) -> tensor<5x32xf32>
    %252 = "stablehlo.broadcast_in_dim"(%152) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<5x32xf32>
    %253 = "stablehlo.power"(%251, %252) : (tensor<5x32xf32>, tensor<5x32xf32>) -> tensor<5x32xf32>
    %254 = "stablehlo.reduce"(%253, %6) <{dimensions = array<i64: 0, 1>}> ({
    ^bb0(%arg24: tensor<f32>, %arg25: tensor<f32>):
      %321 = "stablehlo.add"(%arg24, %arg25) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%321) : (tensor<f32>) -> ()
    }) : (tensor<5x32xf32>, tensor<f32>) -> tensor<f32>
    %255 = "stablehlo.power"(%254, %157) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    %256 = "stablehlo.abs"(%250) : (tensor<5x32xf32>) -> tensor<5x32xf32>
    %257 = "stablehlo.power"(%256, %252) : (tensor<5x32xf32>, tensor<5x32xf32>) -> tensor<5x32xf32>
    %258 = "stablehlo.reduce"(%257, %6) <{dimensions = array<i64: 0, 1>}> ({
    ^bb0(%arg22: tensor<f32>, %arg23: tensor<f32>):
      %320 = "stablehlo.add"(%arg22, %arg23) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%320) : (tensor<f32>) -> ()
    }) : (tensor<5x32xf32>, tensor<f32>) -> tensor<f32>
    %259 = "stablehlo.power"(%258, %157) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    %260 = "stablehlo.compare"(%255, %97) <{compare_type = #stablehlo<comparison_type FLOAT>, comparison_direction = #stablehlo<comparison_direction GT>}> : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %261 = "stablehlo.compare"(%259, %97) <{compare_type = #stablehlo<comparison_type FLOAT>, comparison_direction = #stablehlo<comparison_direction GT>}> : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %262 = "stablehlo.and"(%260, %261) : (tensor<i1>, tensor<i1>) -> tensor<i1>
    %263 = "stablehlo.divide"(%255, %259) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    %264 = "stablehlo.broadcast_in_dim"(%263) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<f32>
    %265 = "stablehlo.select"(%262, %264, %168) : (tensor<i1>, tensor<f32>, tensor<f32>) -> tensor<f32>
    %266 = "stablehlo.broadcast_in_dim"(%265) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<5x32xf32>
    %267 = "stablehlo.multiply"(%250, %266) : (tensor<5x32xf32>, tensor<5x32xf32>) -> tensor<5x32xf32>
    %268 = "stablehlo.broadcast_in_dim"(%173) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<5x32xf32>
    %269 = "stablehlo.multiply"(%267, %268) : (tensor<5x32xf32>, tensor<5x32xf32>) -> tensor<5x32xf32>
    %270 = "stablehlo.add"(%arg2, %269) : (tensor<5x32xf32>, tensor<5x32xf32>) -> tensor<5x32xf32>
    %271 = "stablehlo.add"(%arg13, %24) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    %272 = "stablehlo.broadcast_in_dim"(%113) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<5xf32>
    %273 = "stablehlo.multiply"(%arg14, %272) : (tensor<5xf32>, tensor<5xf32>) -> tensor<5xf32>
    %274 = "stablehlo.broadcast_in_dim"(%117) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<5xf32>
    %275 = "stablehlo.multiply"(%95, %274) : (tensor<5xf32>, tensor<5xf32>) -> tensor<5xf32>
    %276 = "stablehlo.add"(%273, %275) : (tensor<5xf32>, tensor<5xf32>) -> tensor<5xf32>
    %277 = "stablehlo.broadcast_in_dim"(%122) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<5xf32>
    %278 = "stablehlo.multiply"(%arg15, %277) : (tensor<5xf32>, tensor<5xf32>) -> tensor<5xf32>
    %279 = "stablehlo.broadcast_in_dim"(%126) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<5xf32>
    %280 = "stablehlo.multiply"(%95, %279) : (tensor<5xf32>, tensor<5xf32>) -> tensor<5xf32>
    %281 = "stablehlo.multiply"(%280, %95) : (tensor<5xf32>, tensor<5xf32>) -> tensor<5xf32>
    %282 = "stablehlo.add"(%278, %281) : (tensor<5xf32>, tensor<5xf32>) -> tensor<5xf32>
    %283 = "stablehlo.power"(%113, %271) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    %284 = "stablehlo.subtract"(%132, %283) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    %285 = "stablehlo.broadcast_in_dim"(%284) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<5xf32>
    %286 = "stablehlo.divide"(%276, %285) : (tensor<5xf32>, tensor<5xf32>) -> tensor<5xf32>
    %287 = "stablehlo.power"(%122, %271) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    %288 = "stablehlo.subtract"(%132, %287) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    %289 = "stablehlo.broadcast_in_dim"(%288) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<5xf32>
    %290 = "stablehlo.divide"(%282, %289) : (tensor<5xf32>, tensor<5xf32>) -> tensor<5xf32>
    %291 = "stablehlo.sqrt"(%290) : (tensor<5xf32>) -> tensor<5xf32>
    %292 = "stablehlo.broadcast_in_dim"(%142) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<5xf32>
    %293 = "stablehlo.add"(%291, %292) : (tensor<5xf32>, tensor<5xf32>) -> tensor<5xf32>
    %294 = "stablehlo.divide"(%286, %293) : (tensor<5xf32>, tensor<5xf32>) -> tensor<5xf32>
    %295 = "stablehlo.broadcast_in_dim"(%147) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<5xf32>
    %296 = "stablehlo.multiply"(%arg3, %295) : (tensor<5xf32>, tensor<5xf32>) -> tensor<5xf32>
    %297 = "stablehlo.add"(%294, %296) : (tensor<5xf32>, tensor<5xf32>) -> tensor<5xf32>
    %298 = "stablehlo.abs"(%arg3) : (tensor<5xf32>) -> tensor<5xf32>
    %299 = "stablehlo.broadcast_in_dim"(%152) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<5xf32>
    %300 = "stablehlo.power"(%298, %299) : (tensor<5xf32>, tensor<5xf32>) -> tensor<5xf32>
    %301 = "stablehlo.reduce"(%300, %6) <{dimensions = array<i64: 0>}> ({
    ^bb0(%arg20: tensor<f32>, %arg21: tensor<f32>):
      %319 = "stablehlo.add"(%arg20, %arg21) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%319) : (tensor<f32>) -> ()
    }) : (tensor<5xf32>, tensor<f32>) -> tensor<f32>
    %302 = "stablehlo.power"(%301, %157) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    %303 = "stablehlo.abs"(%297) : (tensor<5xf32>) -> tensor<5xf32>
    %304 = "stablehlo.power"(%303, %299) : (tensor<5xf32>, tensor<5xf32>) -> tensor<5xf32>
    %305 = "stablehlo.reduce"(%304, %6) <{dimensions = array<i64: 0>}> ({
    ^bb0(%arg18: tensor<f32>, %arg19: tensor<f32>):
      %318 = "stablehlo.add"(%arg18, %arg19) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%318) : (tensor<f32>) -> ()
    }) : (tensor<5xf32>, tensor<f32>) -> tensor<f32>
    %306 = "stablehlo.power"(%305, %157) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    %307 = "stablehlo.compare"(%302, %97) <{compare_type = #stablehlo<comparison_type FLOAT>, comparison_direction = #stablehlo<comparison_direction GT>}> : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %308 = "stablehlo.compare"(%306, %97) <{compare_type = #stablehlo<comparison_type FLOAT>, comparison_direction = #stablehlo<comparison_direction GT>}> : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %309 = "stablehlo.and"(%307, %308) : (tensor<i1>, tensor<i1>) -> tensor<i1>
    %310 = "stablehlo.divide"(%302, %306) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    %311 = "stablehlo.broadcast_in_dim"(%310) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<f32>
    %312 = "stablehlo.select"(%309, %311, %168) : (tensor<i1>, tensor<f32>, tensor<f32>) -> tensor<f32>
    %313 = "stablehlo.broadcast_in_dim"(%312) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<5xf32>
    %314 = "stablehlo.multiply"(%297, %313) : (tensor<5xf32>, tensor<5xf32>) -> tensor<5xf32>
    %315 = "stablehlo.broadcast_in_dim"(%173) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<5xf32>
    %316 = "stablehlo.multiply"(%314, %315) : (tensor<5xf32>, tensor<5xf32>) -> tensor<5xf32>
    %317 = "stablehlo.add"(%arg3, %316) : (tensor<5xf32>, tensor<5xf32>) -> tensor<5xf32>
    "func.return"(%176, %223, %270, %317, %111, %120, %130, %177, %182, %188, %224, %229, %235, %271, %276, %282, %66, %110, %109, %96, %95) : (tensor<32x20xf32>, tensor<32xf32>, tensor<5x32xf32>, tensor<5xf32>, tensor<f32>, tensor<32x20xf32>, tensor<32x20xf32>, tensor<f32>, tensor<32xf32>, tensor<32xf32>, tensor<f32>, tensor<5x32xf32>, tensor<5x32xf32>, tensor<f32>, tensor<5xf32>, tensor<5xf32>, tensor<f32>, tensor<32x20xf32>, tensor<32xf32>, tensor<5x32xf32>, tensor<5xf32>) -> ()
  }) : () -> ()
}) : () -> ()
